#!/usr/bin/env bash
# The main job on the embedded sample: text, model, translation, BLEU. No network, two cores.
# Run again after an interruption, it goes on where it stopped. usage: demo.sh [FOLDER] [SECONDS]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-demo_run}
seconds=${2:-600}
source=$folder/test.en
reference=$folder/test.de
translation=$folder/test.translated.de

mkdir -p "$folder"
for language in en de; do
    gzip -dc "$here/problems/data/libreoffice-help.test.$language.gz" >"$folder/test.$language"
done

kt-datagen --problem=sample_ende --data_dir="$folder/data" --tmp_dir="$folder/tmp"
# Ten minutes of training; then the mean of the last five checkpoints, as the paper does.
kt-trainer --problem=sample_ende --hparams=tiny --data_dir="$folder/data" \
    --output_dir="$folder/model" --train_steps=6000 --train_seconds="$seconds" \
    --save_checkpoints_secs=$((seconds / 20 + 1))
kt-avg --model_dir="$folder/model" --last=5 --output_dir="$folder/averaged"
rm -f "$translation" "$translation.partial"
kt-decoder --output_dir="$folder/averaged" --decode_from_file="$source" \
    --decode_to_file="$translation"

echo
echo "Ten sentences of the test set (s), their translation (t) and the reference (r):"
paste -d '\n' "$source" "$translation" "$reference" |
    awk 'NR > 30 { next } { print substr("str", (NR - 1) % 3 + 1, 1) "  " $0 } NR % 3 == 0 { print "" }'
kt-bleu --translation="$translation" --reference="$reference"
